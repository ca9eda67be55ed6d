# SPDX-License-Identifier: MIT
# gputrack-config.cmake - find_package(gputrack): tests that fail by name when they leak.
#
#   gputrack_add_test(NAME name COMMAND program [arg…]
#                     [FAIL_ON_LEAK spec] [MAX_PEAK size] [FAIL_ON_GROWTH rate]
#                     [SUPPRESSIONS file…] [BASELINE recording]
#                     [WORKING_DIRECTORY folder] [CONFIGURATIONS name…] [COMMAND_EXPAND_LISTS])
#   gputrack_enable_all_tests([FAIL_ON_LEAK … BASELINE, as above])
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

# ctest -T memcheck: CTest calls it with --log-file=FILE --quiet and the test's command. FILE is where CTest reads leaks, in
# Valgrind's form. A test that runs under gputrack anyway is not recorded twice.
set(_gputrack_checker "${CMAKE_BINARY_DIR}/CMakeFiles/gputrack-memcheck")
if(NOT MEMORYCHECK_COMMAND OR MEMORYCHECK_COMMAND STREQUAL _gputrack_checker)
	file(WRITE "${_gputrack_checker}" "#!/bin/sh
gputrack='${GPUTRACK_EXECUTABLE}'
[ \"$3 $4\" != \"$gputrack run\" ] || { log=$1 quiet=$2; shift 4; set -- \"$log\" \"$quiet\" \"$@\"; }
exec \"$gputrack\" run \"$@\"
")
	file(CHMOD "${_gputrack_checker}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
	set(MEMORYCHECK_COMMAND "${_gputrack_checker}" CACHE FILEPATH "for ctest -T memcheck" FORCE)
	set(MEMORYCHECK_COMMAND_OPTIONS "--quiet" CACHE STRING "for ctest -T memcheck" FORCE)
	set(MEMORYCHECK_TYPE Valgrind CACHE STRING "the form of gputrack's log" FORCE)
endif()

set(_gputrack_limits FAIL_ON_LEAK MAX_PEAK FAIL_ON_GROWTH BASELINE)

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

# Text for cmake_language(EVAL) that passes each word as one argument, even if it is empty or holds semicolons.
function(_gputrack_quote out list_name)
	set(text)
	foreach(word IN LISTS ${list_name})
		string(APPEND text " [==[${word}]==]")
	endforeach()
	set(${out} "${text}" PARENT_SCOPE)
endfunction()

# What a test's first word stands for: a target's program, also if the target is added later, or itself.
function(_gputrack_program out word)
	if(TARGET "${word}")
		set(word "$<TARGET_FILE:${word}>")
	elseif(word MATCHES "^[A-Za-z0-9_.+-]+$")
		set(exists "$<TARGET_EXISTS:${word}>")
		set(word "$<${exists}:$<TARGET_FILE:${word}>>$<$<NOT:${exists}>:${word}>")
	endif()
	set(${out} "${word}" PARENT_SCOPE)
endfunction()

# Adds the test in the caller's variables test_…, which runs under gputrack with `options`.
function(_gputrack_declare_test options)
	string(REGEX REPLACE "[^A-Za-z0-9._+-]" "_" file "${test_NAME}")
	file(MAKE_DIRECTORY "${GPUTRACK_RECORDINGS}")
	set(launcher "${GPUTRACK_EXECUTABLE}" run -o "${GPUTRACK_RECORDINGS}/${file}.gt" --root "${CMAKE_SOURCE_DIR}"
		${options} --)
	_gputrack_quote(call launcher)
	_gputrack_quote(command test_COMMAND)
	list(GET test_COMMAND 0 first)
	_gputrack_program(program "${first}")
	string(LENGTH " [==[${first}]==]" length)
	string(SUBSTRING "${command}" ${length} -1 command)
	set(call "NAME [==[${test_NAME}]==] COMMAND${call} [==[${program}]==]${command}")
	foreach(name WORKING_DIRECTORY CONFIGURATIONS)
		if(test_${name})
			_gputrack_quote(words test_${name})
			string(APPEND call " ${name}${words}")
		endif()
	endforeach()
	if(test_COMMAND_EXPAND_LISTS)
		string(APPEND call " COMMAND_EXPAND_LISTS")
	endif()
	if(COMMAND _add_test)
		cmake_language(EVAL CODE "_add_test(${call})")
	else()
		cmake_language(EVAL CODE "add_test(${call})")
	endif()
	# 24: nothing was tracked
	set_tests_properties("${test_NAME}" PROPERTIES SKIP_RETURN_CODE 24 LABELS gputrack)
endfunction()

function(gputrack_add_test)
	cmake_parse_arguments(PARSE_ARGV 0 test "COMMAND_EXPAND_LISTS" "NAME;WORKING_DIRECTORY;${_gputrack_limits}"
		"COMMAND;CONFIGURATIONS;SUPPRESSIONS")
	if("${test_NAME}" STREQUAL "" OR "${test_COMMAND}" STREQUAL "")
		message(FATAL_ERROR "gputrack_add_test needs NAME and COMMAND")
	endif()
	if(test_UNPARSED_ARGUMENTS)
		message(FATAL_ERROR "gputrack_add_test(${test_NAME}): unknown arguments: ${test_UNPARSED_ARGUMENTS}")
	endif()
	_gputrack_options(options test)
	_gputrack_declare_test("${options}")
endfunction()

# All add_test(NAME …) that follow, anywhere in the project, become gputrack_add_test.
function(gputrack_enable_all_tests)
	cmake_parse_arguments(PARSE_ARGV 0 all "" "${_gputrack_limits}" "SUPPRESSIONS")
	if(all_UNPARSED_ARGUMENTS)
		message(FATAL_ERROR "gputrack_enable_all_tests: unknown arguments: ${all_UNPARSED_ARGUMENTS}")
	endif()
	_gputrack_options(options all)
	set_property(GLOBAL PROPERTY GPUTRACK_TEST_OPTIONS "${options}")
	if(NOT COMMAND _add_test)
		function(add_test)
			cmake_parse_arguments(PARSE_ARGV 0 test "COMMAND_EXPAND_LISTS" "NAME;WORKING_DIRECTORY"
				"COMMAND;CONFIGURATIONS")
			if(NOT "${test_NAME}" STREQUAL "" AND NOT "${test_COMMAND}" STREQUAL "")
				get_property(options GLOBAL PROPERTY GPUTRACK_TEST_OPTIONS)
				_gputrack_declare_test("${options}")
			else()
				# the old form
				_add_test(${ARGV})
			endif()
		endfunction()
	endif()
endfunction()
