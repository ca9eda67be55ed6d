/* SPDX-License-Identifier: MIT */
/*
 * catch2.h - fails each test case of Catch2 (2.x and 3.x) that leaves GPU resources behind.
 *
 * Include it in one file of the test program, before Catch2's own headers, and run that under
 * gputrack:
 *
 *	#define CATCH_CONFIG_MAIN // Catch2 2.x
 *	#include <gputrack/catch2.h>
 *
 *	gputrack run -q ./tests
 *
 * Each run of a test case through its sections is judged, unless the test case has the tag
 * [gpu-leaks]. Without gputrack nothing is. doc/ci.md
 */
#ifndef GPUTRACK_CATCH2_H
#define GPUTRACK_CATCH2_H

#if defined CATCH_VERSION_MAJOR && CATCH_VERSION_MAJOR >= 3
/* as one file, which is included already */
#elif defined __has_include && __has_include(<catch2/reporters/catch_reporter_event_listener.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#else
#ifndef CATCH_CONFIG_EXTERNAL_INTERFACES
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#endif
#include <catch2/catch.hpp>
#define GPUTRACK_CATCH2_OLD 1
#endif

#include "live.hpp"

namespace gputrack
{

#ifdef GPUTRACK_CATCH2_OLD
typedef Catch::TestEventListenerBase ListenerBase;
#else
typedef Catch::EventListenerBase ListenerBase;
#endif

class TestListener : public ListenerBase
{
      public:
	using ListenerBase::ListenerBase;

	void testCaseStarting(const Catch::TestCaseInfo &test) override
	{
		ListenerBase::testCaseStarting(test);
		may_leak_ = test.tagsAsString().find("[gpu-leaks]") != std::string::npos;
	}

	void sectionStarting(const Catch::SectionInfo &section) override
	{
		ListenerBase::sectionStarting(section);
		/* the outermost is the test case itself */
		if (!depth_++)
			watch_.restart();
	}

	void sectionEnded(const Catch::SectionStats &section) override
	{
		/* a test that failed may not have got as far as its releases */
		if (!--depth_ && !section.assertions.failed && !may_leak_)
			for (const Leak &leak : watch_.leaks())
				fail(section, leak);
		ListenerBase::sectionEnded(section);
	}

      private:
	/* As FAIL_CHECK does, with the line of the leak. */
	static void fail(const Catch::SectionStats &section, const Leak &leak)
	{
		Catch::SourceLineInfo where = section.sectionInfo.lineInfo;

		if (!leak.file.empty())
			where = Catch::SourceLineInfo(leak.file.c_str(), leak.line);
		Catch::AssertionHandler handler("gputrack", where, Catch::StringRef(),
						Catch::ResultDisposition::ContinueOnFailure);
		handler.handleMessage(Catch::ResultWas::ExplicitFailure, std::string(leak.text));
		handler.complete();
	}

	Watch watch_;
	unsigned depth_ = 0;
	bool may_leak_ = false;
};

} // namespace gputrack

typedef gputrack::TestListener gputrack_test_listener;
CATCH_REGISTER_LISTENER(gputrack_test_listener)

#endif
