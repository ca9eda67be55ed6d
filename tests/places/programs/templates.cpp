// SPDX-License-Identifier: MIT
// templates.cpp - two lines of source, many instantiations.
#include <array>
#include <cstddef>
#include <utility>

#include "gpu.h"

namespace store {

template <typename T, std::size_t N> struct Tile {
	cl_mem front, back;

	void reserve()
	{
		front = clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, sizeof(T) * N, nullptr, nullptr);
		back = clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, sizeof(T) * N, nullptr, nullptr);
	}
};

template <typename T, std::size_t... N> void reserve_all(std::index_sequence<N...>)
{
	int done[] = { (Tile<std::array<T, 2>, N + 16>().reserve(), 0)... };

	(void)done;
}

template <typename... T> void reserve_types()
{
	int done[] = { (reserve_all<T>(std::make_index_sequence<INSTANCES / sizeof...(T)>()), 0)... };

	(void)done;
}

}

int main()
{
	gpu_open();
	store::reserve_types<float, std::pair<int, double>>();
	return 0;
}
