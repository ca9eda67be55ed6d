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
 * are not. RecordProperty("gpu_leak_limit", 1 << 20) in a test allows so many bytes to stay.
 * Without gputrack nothing is judged. doc/ci.md
 */
#ifndef GPUTRACK_GTEST_H
#define GPUTRACK_GTEST_H

#include <cstdlib>
#include <cstring>

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
		const std::vector<Leak> leaks = watch_.leaks();
		unsigned long long bytes = 0;
		bool is_known = true;
		for (const Leak &leak : leaks) {
			bytes += leak.bytes;
			is_known &= leak.count > 0;
		}
		if (is_known && static_cast<long long>(bytes) <= limit_of(*test.result()))
			return;
		for (const Leak &leak : leaks)
			ADD_FAILURE_AT(leak.file.empty() ? test.file() : leak.file.c_str(),
				       leak.file.empty() ? test.line() :
							   static_cast<int>(leak.line))
				<< leak.text;
	}

	/* How many bytes may stay; -1: nothing at all. */
	static long long limit_of(const testing::TestResult &result)
	{
		for (int i = 0; i < result.test_property_count(); i++)
			if (!std::strcmp(result.GetTestProperty(i).key(), "gpu_leak_limit"))
				return std::atoll(result.GetTestProperty(i).value());
		return -1;
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
