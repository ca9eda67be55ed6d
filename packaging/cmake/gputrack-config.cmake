# SPDX-License-Identifier: MIT
# gputrack-config.cmake - find_package(gputrack): tests that fail by name when they leak.
#
#   gputrack_add_test(NAME name COMMAND program [arg…]
#                     [FAIL_ON_LEAK spec] [MAX_PEAK size] [FAIL_ON_GROWTH rate]
#                     [SUPPRESSIONS file…] [BASELINE recording] [WORKING_DIRECTORY folder])
#   gputrack_enable_all_tests([the same options])
#
# Each test's recording is ${GPUTRACK_RECORDINGS}/NAME.gt. A test that uses no GPU is skipped.
# `ctest -T memcheck` runs the project's tests under gputrack if include(CTest) follows this package.
cmake_minimum_required(VERSION 3.19)

# beside this file in a build folder, above it in an installation
find_program(GPUTRACK_EXECUTABLE gputrack NO_DEFAULT_PATH
	HINTS "${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_CURRENT_LIST_DIR}/../../../bin"
	"${CMAKE_CURRENT_LIST_DIR}/../../../../bin")
find_program(GPUTRACK_EXECUTABLE gputrack)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(gputrack REQUIRED_VARS GPUTRACK_EXECUTABLE)
if(NOT gputrack_FOUND)
	return()
endif()

set(GPUTRACK_RECORDINGS "${CMAKE_BINARY_DIR}/gputrack" CACHE PATH "folder for the recordings of tests")
if(NOT TARGET gputrack::gputrack)
	add_executable(gputrack::gputrack IMPORTED)
	set_target_properties(gputrack::gputrack PROPERTIES IMPORTED_LOCATION "${GPUTRACK_EXECUTABLE}")
endif()

# ctest -T memcheck: CTest's first argument is --log-file=…, where it reads leaks in Valgrind's form.
if(NOT MEMORYCHECK_COMMAND)
	set(_gputrack_checker "${CMAKE_BINARY_DIR}/CMakeFiles/gputrack-memcheck")
	file(WRITE "${_gputrack_checker}" "#!/bin/sh\nexec '${GPUTRACK_EXECUTABLE}' run \"$@\"\n")
	file(CHMOD "${_gputrack_checker}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
	set(MEMORYCHECK_COMMAND "${_gputrack_checker}" CACHE FILEPATH "for ctest -T memcheck" FORCE)
	set(MEMORYCHECK_COMMAND_OPTIONS "--quiet" CACHE STRING "for ctest -T memcheck" FORCE)
	set(MEMORYCHECK_TYPE Valgrind CACHE STRING "the form of gputrack's log" FORCE)
endif()

set(_gputrack_one_value FAIL_ON_LEAK MAX_PEAK FAIL_ON_GROWTH BASELINE)

# Options of gputrack run, from arguments that were parsed with a prefix. Relative files are the project's.
function(_gputrack_options out prefix)
	set(options)
	if(${prefix}_FAIL_ON_LEAK)
		list(APPEND options "--fail-on-leak=${${prefix}_FAIL_ON_LEAK}")
	else()
		list(APPEND options --fail-on-leak)
	endif()
	foreach(name MAX_PEAK FAIL_ON_GROWTH)
		if(${prefix}_${name})
			string(TOLOWER "--${name}" option)
			string(REPLACE "_" "-" option "${option}")
			list(APPEND options "${option}=${${prefix}_${name}}")
		endif()
	endforeach()
	foreach(file ${${prefix}_SUPPRESSIONS})
		get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
		list(APPEND options "--suppressions=${file}")
	endforeach()
	if(${prefix}_BASELINE)
		get_filename_component(file "${${prefix}_BASELINE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
		list(APPEND options "--baseline=${file}")
	endif()
	set(${out} ${options} PARENT_SCOPE)
endfunction()

# What runs a test of this name with these options.
function(_gputrack_launcher out name)
	string(REGEX REPLACE "[^A-Za-z0-9._+-]" "_" file "${name}")
	file(MAKE_DIRECTORY "${GPUTRACK_RECORDINGS}")
	set(${out} "${GPUTRACK_EXECUTABLE}" run -o "${GPUTRACK_RECORDINGS}/${file}.gt" --root "${CMAKE_SOURCE_DIR}"
		${ARGN} -- PARENT_SCOPE)
endfunction()

function(gputrack_add_test)
	cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;WORKING_DIRECTORY;${_gputrack_one_value}" "COMMAND;SUPPRESSIONS")
	if(NOT test_NAME OR NOT test_COMMAND)
		message(FATAL_ERROR "gputrack_add_test needs NAME and COMMAND")
	endif()
	if(test_UNPARSED_ARGUMENTS)
		message(FATAL_ERROR "gputrack_add_test(${test_NAME}): unknown arguments: ${test_UNPARSED_ARGUMENTS}")
	endif()
	_gputrack_options(options test)
	_gputrack_launcher(launcher "${test_NAME}" ${options})
	list(POP_FRONT test_COMMAND program)
	if(TARGET "${program}")
		set(program "$<TARGET_FILE:${program}>")
	endif()
	set(folder)
	if(test_WORKING_DIRECTORY)
		set(folder WORKING_DIRECTORY "${test_WORKING_DIRECTORY}")
	endif()
	if(COMMAND _add_test)
		_add_test(NAME "${test_NAME}" COMMAND ${launcher} "${program}" ${test_COMMAND} ${folder})
	else()
		add_test(NAME "${test_NAME}" COMMAND ${launcher} "${program}" ${test_COMMAND} ${folder})
	endif()
	# 24: nothing was tracked
	set_tests_properties("${test_NAME}" PROPERTIES SKIP_RETURN_CODE 24 LABELS gputrack)
endfunction()

# All add_test(NAME …) that follow, anywhere in the project, become gputrack_add_test.
function(gputrack_enable_all_tests)
	set_property(GLOBAL PROPERTY GPUTRACK_TEST_OPTIONS "${ARGN}")
	if(NOT COMMAND _add_test)
		function(add_test)
			get_property(options GLOBAL PROPERTY GPUTRACK_TEST_OPTIONS)
			cmake_parse_arguments(test "COMMAND_EXPAND_LISTS" "NAME;WORKING_DIRECTORY" "COMMAND;CONFIGURATIONS" ${ARGV})
			# the old form, and what gputrack_add_test does not know, is left as it is
			if(test_NAME AND test_COMMAND AND NOT test_CONFIGURATIONS AND NOT test_COMMAND_EXPAND_LISTS)
				gputrack_add_test(${ARGV} ${options})
			else()
				_add_test(${ARGV})
			endif()
		endfunction()
	endif()
endfunction()
