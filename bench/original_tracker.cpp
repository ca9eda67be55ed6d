// SPDX-License-Identifier: MIT
/*
 * original_tracker.cpp - the work that the original resource tracker does around nine calls,
 * without its layer, its driver and its log: a lower bound of its cost on this machine.
 *
 * It reads /proc/self/status through C++ streams, four times around a call that creates or destroys
 * and twice around one that appends, remembers a reading for each handle and thread under one lock,
 * and writes and flushes a row. Prints the processor time of a call. Argument: the CSV, if any.
 */
#include <cstdio>
#include <ctime>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>

#include <sys/resource.h>

namespace
{

enum { CYCLES = 500, HANDLES = 4, CALLS = 2 * HANDLES + 1, COUNTS = 11 };

struct Reading {
	size_t size = 0, resident = 0, data = 0, peak = 0, threads = 0, files = 0;
};

std::mutex lock;
std::unordered_map<std::thread::id, Reading> before;
std::unordered_map<long, Reading> made;
std::ofstream csv;
long row_count;
size_t described; /* so that no description is optimised away */

Reading read_process()
{
	static const struct {
		const char *name;
		size_t Reading::*field;
	} fields[] = {
		{ "VmSize:", &Reading::size },     { "VmRSS:", &Reading::resident },
		{ "VmData:", &Reading::data },     { "VmPeak:", &Reading::peak },
		{ "Threads:", &Reading::threads },
	};
	Reading reading;
	std::ifstream status("/proc/self/status");

	for (std::string line; std::getline(status, line);)
		for (auto &field : fields)
			if (line.find(field.name) == 0) {
				std::istringstream value(line.substr(line.find(':') + 1));
				value >> reading.*field.field;
				break;
			}
	std::ifstream folder("/proc/self/fd");
	rlimit limit;
	if (folder.is_open() && !getrlimit(RLIMIT_NOFILE, &limit))
		reading.files = limit.rlim_cur;
	return reading;
}

void describe(const std::string &call, const Reading &now)
{
	std::ostringstream text;

	text << call << ": VmRSS=" << now.resident << "KB, VmSize=" << now.size
	     << "KB, VmData=" << now.data << "KB, Threads=" << now.threads;
	described += text.str().size();
}

void enter()
{
	std::lock_guard<std::mutex> guard(lock);

	before[std::this_thread::get_id()] = read_process();
}

void leave(const std::string &call)
{
	std::lock_guard<std::mutex> guard(lock);
	Reading now = read_process();
	auto then = before.find(std::this_thread::get_id());

	if (csv.is_open()) {
		std::ostringstream row;

		row << row_count++ << ",0," << call << "," << now.size << "," << now.resident << ","
		    << now.data << "," << now.peak << "," << now.threads << ","
		    << now.size - then->second.size << "," << now.resident - then->second.resident
		    << "," << now.data - then->second.data;
		for (int i = 0; i < COUNTS; i++)
			row << "," << made.size();
		row << "\n";
		csv << row.str();
		csv.flush();
	}
	describe(call, now);
	before.erase(then);
}

void create(long handle)
{
	enter();
	{
		std::lock_guard<std::mutex> guard(lock);

		made[handle] = read_process();
	}
	leave("zeContextCreate");
	describe("System Use After Call", read_process());
}

void destroy(long handle)
{
	enter();
	{
		std::lock_guard<std::mutex> guard(lock);

		if (read_process().resident > made[handle].resident)
			described++;
		made.erase(handle);
	}
	leave("zeContextDestroy");
	describe("System Use After Call", read_process());
}

} // namespace

int main(int argc, char **argv)
{
	timespec begun, ended;

	if (argc > 1)
		csv.open(argv[1]);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	for (int i = 0; i < CYCLES; i++) {
		for (long handle = 0; handle < HANDLES; handle++)
			create(handle);
		enter();
		leave("zeCommandListAppendBarrier");
		for (long handle = 0; handle < HANDLES; handle++)
			destroy(handle);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	std::printf("processor\t%.0f\n", (double(ended.tv_sec - begun.tv_sec) * 1e9 +
					  double(ended.tv_nsec - begun.tv_nsec)) /
						 (CYCLES * CALLS));
	return described ? 0 : 1;
}
