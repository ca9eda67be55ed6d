// SPDX-License-Identifier: MIT
// python_engine.cpp - libtorch_python as far as backward needs it: passes on to the engine's own
// functions.
#include "engine.h"

#include <stdexcept>

using namespace torch::autograd;

struct PythonEngine : public Engine {
	std::vector<at::Tensor> execute(const std::vector<Edge> &roots,
					const std::vector<at::Tensor> &inputs, bool keep_graph,
					bool create_graph, bool accumulate_grad,
					const std::vector<Edge> &outputs) override
	{
		auto made = Engine::execute(roots, inputs, keep_graph, create_graph,
					    accumulate_grad, outputs);

		return made;
	}
	void thread_init(int device, const std::shared_ptr<ReadyQueue> &queue,
			 bool should_increment) override
	{
		Engine::thread_init(device, queue, should_increment);
	}
};

static PythonEngine engine;

/*
 * Makes a gradient on the thread of a device (below 0: on this one), and says how many tensors
 * there are then; -1: there was none. ctypes lets other threads of Python run meanwhile, as PyTorch
 * does.
 */
extern "C" FAKE_EXPORT int fake_torch_backward(long bytes, int device)
{
	try {
		Engine &e = engine;

		return (int)e
			.execute({ { bytes, device } }, { { 1 }, { 2 } }, false, true, false,
				 { {}, {}, {} })
			.size();
	} catch (const std::runtime_error &) {
		return -1;
	}
}
