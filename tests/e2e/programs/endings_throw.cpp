// SPDX-License-Identifier: MIT
/* endings_throw.cpp - an exception that nobody catches. */
#include <stdexcept>

extern "C" void throw_exception();

void throw_exception()
{
	throw std::runtime_error("nobody catches this");
}
