// SPDX-License-Identifier: MIT
// engine.cpp - libtorch_cpu as far as backward needs it: a thread for each device makes the
// gradients.
#include "engine.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <stdint.h>

extern "C" {
uint64_t fake_torch_malloc(int pool, uint64_t size);
}

namespace torch
{
namespace autograd
{

struct Task {
	long bytes;
	bool is_done;
};

struct ReadyQueue {
	std::mutex lock;
	std::condition_variable changed;
	std::deque<Task *> tasks;
};

/* Calls without bytes wait here. */
static struct {
	std::mutex lock;
	std::condition_variable changed;
	int waiting;
	bool is_open;
} gate;

static void wait_at_gate()
{
	std::unique_lock<std::mutex> lock(gate.lock);

	gate.waiting++;
	gate.changed.notify_all();
	gate.changed.wait(lock, [] { return gate.is_open; });
}

/* Waits until a call waits there, or lets it go. */
extern "C" FAKE_EXPORT void fake_torch_gate(int opens)
{
	std::unique_lock<std::mutex> lock(gate.lock);

	if (!opens)
		gate.changed.wait(lock, [] { return gate.waiting; });
	gate.is_open = opens;
	gate.changed.notify_all();
}

static std::map<int, std::shared_ptr<ReadyQueue>> queues;
static std::mutex queues_lock, pool_lock;

static __attribute__((noinline)) void make_gradient(long bytes)
{
	std::lock_guard<std::mutex> guard(pool_lock);

	fake_torch_malloc(0, (uint64_t)bytes);
	__asm__ volatile("");
}

static std::shared_ptr<ReadyQueue> queue_of(Engine *engine, int device)
{
	std::lock_guard<std::mutex> guard(queues_lock);
	auto &queue = queues[device];

	if (!queue) {
		queue = std::make_shared<ReadyQueue>();
		std::thread(&Engine::thread_init, engine, device, queue, true).detach();
	}
	return queue;
}

Engine::~Engine() = default;

void Engine::thread_init(int, const std::shared_ptr<ReadyQueue> &queue, bool)
{
	for (;;) {
		std::unique_lock<std::mutex> lock(queue->lock);

		queue->changed.wait(lock, [&] { return !queue->tasks.empty(); });
		Task *task = queue->tasks.front();
		queue->tasks.pop_front();
		lock.unlock();
		make_gradient(task->bytes);
		lock.lock();
		task->is_done = true;
		queue->changed.notify_all();
	}
}

std::vector<at::Tensor> Engine::execute(const std::vector<Edge> &roots,
					const std::vector<at::Tensor> &inputs, bool keep_graph,
					bool create_graph, bool accumulate_grad,
					const std::vector<Edge> &outputs)
{
	std::vector<at::Tensor> made(inputs);

	if (keep_graph || !create_graph || accumulate_grad || outputs.size() != 3)
		throw std::logic_error("arguments were mixed up");
	for (const Edge &root : roots) {
		if (root.bytes < 0)
			throw std::runtime_error("no gradient");
		if (!root.bytes) {
			wait_at_gate();
			continue;
		}
		if (root.device < 0) {
			make_gradient(root.bytes);
			continue;
		}
		Task task = { root.bytes, false };
		auto queue = queue_of(this, root.device);
		std::unique_lock<std::mutex> lock(queue->lock);
		queue->tasks.push_back(&task);
		queue->changed.notify_all();
		queue->changed.wait(lock, [&] { return task.is_done; });
		made.push_back({ root.bytes });
	}
	return made;
}

} // namespace autograd
} // namespace torch
