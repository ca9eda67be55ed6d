// SPDX-License-Identifier: MIT
// pool.d - a D program that makes buffers in a template, a method and a delegate.
module app.pool;

extern (C) void* cl_open();
extern (C) void* clCreateBuffer(void* context, ulong flags, size_t bytes, void* host, void* error);

__gshared void* context;

class Pool(T)
{
    void*[] kept;

    void take(size_t cells)
    {
        kept ~= clCreateBuffer(context, 1, cells * T.sizeof, null, null);
    }
}

void each(void delegate(size_t) call)
{
    call(3 << 10);
}

void main()
{
    context = cl_open();
    auto floats = new Pool!float;
    auto doubles = new Pool!double;
    void*[] kept;
    floats.take(256);
    doubles.take(256);
    each((bytes) { kept ~= clCreateBuffer(context, 1, bytes, null, null); });
}
