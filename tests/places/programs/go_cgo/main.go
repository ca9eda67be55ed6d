// SPDX-License-Identifier: MIT
// main.go - a Go program that makes buffers through cgo: in a method, a function and a closure.
package main

// #cgo CFLAGS: -g -I..
// #cgo LDFLAGS: -lOpenCL
// #include "gpu.h"
// static cl_context the_context(void)
// {
//	return gpu_context;
// }
// static cl_mem make_buffer(size_t bytes)
// {
//	return clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
// }
import "C"

type Trainer struct {
	kept []C.cl_mem
}

func (t *Trainer) Step(bytes int) {
	t.kept = append(t.kept, C.clCreateBuffer(C.the_context(), C.CL_MEM_READ_WRITE, C.size_t(bytes), nil, nil))
}

func load(t *Trainer, bytes int) {
	t.kept = append(t.kept, C.make_buffer(C.size_t(bytes)))
}

func main() {
	t := &Trainer{}
	C.gpu_open()
	t.Step(1 << 10)
	load(t, 2<<10)
	each := func(bytes int) { t.kept = append(t.kept, C.make_buffer(C.size_t(bytes))) }
	each(3 << 10)
}
