/* SPDX-License-Identifier: MIT */
/*
 * live.hpp - gputrack/live.h for C++: what a piece of code left alive, as strings.
 *
 *	gputrack::Watch watch;
 *	work();
 *	for (const gputrack::Leak &leak : watch.leaks())
 *		std::cerr << leak.text << '\n';
 *
 * doc/live-objects.md
 */
#ifndef GPUTRACK_LIVE_HPP
#define GPUTRACK_LIVE_HPP

#include <string>
#include <vector>

#include "live.h"

namespace gputrack
{

/* Living resources of one kind and call site. */
struct Leak {
	std::string text; /* what, where and the stack, in lines */
	std::string file; /* "" if unknown */
	unsigned line;
	unsigned long long count; /* 0: what is alive cannot be told, and the text says why */
	unsigned long long bytes;
};

/* Watches from its creation on. */
class Watch
{
      public:
	Watch() : is_recorded_(gputrack_live_now(&begun_) != 0)
	{
	}

	/* Begins again. */
	void restart()
	{
		is_recorded_ = gputrack_live_now(&begun_) != 0;
	}

	/* False without `gputrack run`: there are no leaks then. */
	bool is_recorded() const
	{
		return is_recorded_;
	}

	/* What was created since, is alive, and is neither a library's cache nor suppressed. */
	std::vector<Leak> leaks() const
	{
		std::vector<Leak> found;

		if (is_recorded_ && gputrack_live_list(&begun_, nullptr, nullptr))
			gputrack_live_sites(&begun_, add, &found);
		return found;
	}

	/*
	 * The most device memory that was alive at once, beyond what was alive before, in bytes. If
	 * blocks of pools were created, these are counted, not the memory around them.
	 */
	unsigned long long peak() const
	{
		gputrack_live_mark most;

		if (!is_recorded_ || !gputrack_live_peak(&begun_, &most))
			return 0;
		if (most.block_bytes > begun_.block_bytes)
			return most.block_bytes - begun_.block_bytes;
		return most.device_bytes - begun_.device_bytes;
	}

      private:
	static int add(void *context, const gputrack_live_site *site)
	{
		std::vector<Leak> &found = *static_cast<std::vector<Leak> *>(context);
		Leak leak = { std::string(), site->file, site->line, site->count, site->bytes };

		if (!site->count) { /* it cannot be told */
			leak.text =
				std::string("gputrack cannot list what is alive: ") + site->excused;
		} else if (*site->excused) {
			return 1;
		} else {
			leak.text = std::string(site->what) + " left alive, by " +
				    site->created_by + " (" + site->api + ")\n  " + site->place;
			leak.text += own_frames(site->stack, site->place);
		}
		found.push_back(leak);
		return 1;
	}

	/* The frames up to those of the test framework, if these are more than the place. */
	static std::string own_frames(const std::string &stack, const std::string &place)
	{
		std::string text;
		size_t from = 0, to;

		for (; (to = stack.find('\n', from)) != std::string::npos; from = to + 1) {
			if (!stack.compare(from, 9, "testing::") ||
			    !stack.compare(from, 7, "Catch::"))
				break;
			text += "\n    " + stack.substr(from, to - from);
		}
		return text == "\n    " + place ? std::string() : text;
	}

	gputrack_live_mark begun_;
	bool is_recorded_;
};

} // namespace gputrack

#endif
