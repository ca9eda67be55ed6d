// SPDX-License-Identifier: MIT
// engine.h - PyTorch's autograd engine as its two libraries know each other: the names and the
// calling convention are PyTorch's own.
#pragma once

#include <memory>
#include <vector>

#define FAKE_EXPORT __attribute__((visibility("default")))

namespace at
{
struct Tensor {
	long bytes;
	~Tensor()
	{
	}
};
} // namespace at

namespace torch
{
namespace autograd
{

struct Edge {
	long bytes;
	int device;
};

struct ReadyQueue;

struct FAKE_EXPORT Engine {
	virtual std::vector<at::Tensor> execute(const std::vector<Edge> &roots,
						const std::vector<at::Tensor> &inputs,
						bool keep_graph, bool create_graph,
						bool accumulate_grad,
						const std::vector<Edge> &outputs);
	virtual void thread_init(int device, const std::shared_ptr<ReadyQueue> &queue,
				 bool should_increment);
	virtual ~Engine();
};

} // namespace autograd
} // namespace torch
