/* SPDX-License-Identifier: MIT */
/*
 * gtest.h - fails each test of GoogleTest that leaves GPU resources behind.
 *
 * Include it in one file of the test program, and run that under gputrack:
 *
 *	#include <gputrack/gtest.h>
 *
 *	gputrack run -q ./tests
 *
 * SetUp, TearDown and the fixture's destructor are part of a test; SetUpTestSuite and environments
 * are not. Without gputrack nothing is judged. doc/ci.md
 */
#ifndef GPUTRACK_GTEST_H
#define GPUTRACK_GTEST_H

#include <gtest/gtest.h>

#include "live.hpp"

namespace gputrack
{

class TestListener : public testing::EmptyTestEventListener
{
	void OnTestStart(const testing::TestInfo &) override
	{
		watch_.restart();
	}

	void OnTestEnd(const testing::TestInfo &test) override
	{
		/* a test that failed may not have got as far as its releases */
		if (!test.result()->Passed())
			return;
		for (const Leak &leak : watch_.leaks())
			ADD_FAILURE_AT(leak.file.empty() ? test.file() : leak.file.c_str(),
				       leak.file.empty() ? test.line() :
							   static_cast<int>(leak.line))
				<< leak.text;
	}

	Watch watch_;
};

/* Once, however often this file is included. */
inline bool listen()
{
	static const bool done =
		(testing::UnitTest::GetInstance()->listeners().Append(new TestListener), true);

	return done;
}

namespace
{
const bool is_listening __attribute__((unused)) = listen();
}

} // namespace gputrack

#endif
