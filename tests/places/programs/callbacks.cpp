// SPDX-License-Identifier: MIT
// callbacks.cpp - lambdas, std::function, a virtual method, a thread and a container's callback.
#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu.h"

static std::vector<cl_mem> kept;

static cl_mem make(std::size_t bytes)
{
	return clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr);
}

class Stage {
public:
	virtual ~Stage() = default;
	virtual void run() = 0;
};

class Blur : public Stage {
public:
	void run() override
	{
		kept.push_back(make(1 << 10));
	}
};

namespace graph {

struct Node {
	std::function<cl_mem(std::size_t)> allocate;

	void prepare(const std::string &name)
	{
		kept.push_back(allocate(name.size() << 10));
	}
};

}

struct Holder {
	cl_mem mem;
	explicit Holder(std::size_t bytes)
		: mem(clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr))
	{
	}
};

int main()
{
	std::unique_ptr<Stage> stage;
	graph::Node node;
	std::vector<std::size_t> sizes = { 7 << 10 };

	gpu_open();
	kept.reserve(16);
	stage.reset(new Blur);
	stage->run();
	node.allocate = [](std::size_t bytes) {
		return clCreateBuffer(gpu_context, CL_MEM_READ_ONLY, bytes, nullptr, nullptr);
	};
	node.prepare("ab");
	std::for_each(sizes.begin(), sizes.end(), [](std::size_t bytes) {
		kept.push_back(clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr));
	});
	std::thread worker([] { kept.push_back(make(5 << 10)); });
	worker.join();
	kept.push_back(std::async(std::launch::async, make, 6 << 10).get());
	kept.push_back(std::make_shared<Holder>(11 << 10)->mem);
	return 0;
}
