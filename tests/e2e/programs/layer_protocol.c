/* SPDX-License-Identifier: MIT */
/*
 * layer_protocol: loads a layer and talks to it as the Khronos loader does.
 *
 * --layer FILE, --entries N of the table that is offered (default: as many as the headers have),
 * --properties to use clInitLayerWithProperties. The table is of a small driver in fake_table.h.
 */
#include "fake_table.h"

#define CHECK(condition)                                                                           \
	((condition) ? (void)0 : quit(STATUS_FAILED, "line %d: not so: %s", __LINE__, #condition))

static void check_info(const struct layer *layer)
{
	cl_layer_api_version version = 0;
	char name[64] = "unchanged";
	size_t size = 0;

	CHECK(layer->info(CL_LAYER_API_VERSION, sizeof(version), &version, &size) == CL_SUCCESS);
	CHECK(version == 100 && size == sizeof(version));
	size = 0;
	CHECK(layer->info(CL_LAYER_API_VERSION, 0, NULL, &size) == CL_SUCCESS);
	CHECK(size == sizeof(version));
	CHECK(layer->info(CL_LAYER_API_VERSION, sizeof(version) - 1, &version, NULL) ==
	      CL_INVALID_VALUE);
	CHECK(layer->info(CL_LAYER_NAME, 0, NULL, &size) == CL_SUCCESS);
	CHECK(size > 1 && size < sizeof(name));
	CHECK(layer->info(CL_LAYER_NAME, size - 1, name, NULL) == CL_INVALID_VALUE);
	CHECK(!strcmp(name, "unchanged"));
	CHECK(layer->info(CL_LAYER_NAME, size, name, NULL) == CL_SUCCESS);
	CHECK(strlen(name) + 1 == size);
	CHECK(layer->info(0x7777, sizeof(name), name, NULL) == CL_INVALID_VALUE);
	printf("layer %s\n", name);
}

/* NULL where the loader has no function: it must not get one that cannot work. */
static void check_table(const cl_icd_dispatch *table, size_t entries)
{
	void *const *ours = (void *const *)table;
	size_t taken = 0;

	for (size_t i = 0; i < entries; i++)
		taken += ours[i] != below.entries[i];
	CHECK(taken > 20);
	CHECK(table->clGetPlatformIDs == below.table.clGetPlatformIDs);
	CHECK(table->clGetDeviceIDs == below.table.clGetDeviceIDs);
	CHECK(table->clSetKernelArg == below.table.clSetKernelArg);
	CHECK(table->clBuildProgram == below.table.clBuildProgram);
	CHECK(table->clFinish == below.table.clFinish);
	CHECK(table->clCreateContext != below.table.clCreateContext);
	CHECK(table->clCreateUserEvent != below.table.clCreateUserEvent);
	CHECK(table->clReleaseEvent != below.table.clReleaseEvent);
	CHECK(table->clRetainKernel == NULL);
	CHECK(table->clFinish((cl_command_queue)table) == CL_INVALID_COMMAND_QUEUE);
}

static void check_calls(const cl_icd_dispatch *table)
{
	cl_int err = CL_INVALID_VALUE;
	cl_event event = table->clCreateUserEvent(NULL, &err);

	CHECK(event && err == CL_SUCCESS);
	CHECK(table->clReleaseEvent(event) == CL_SUCCESS);
	CHECK(!((struct fake_object *)event)->used);
	event = table->clCreateUserEvent(NULL, NULL);
	CHECK(event);
}

/* The older extension has slots in the table, and newer programs do not link to it. */
static void check_extension(const cl_icd_dispatch *table)
{
	cl_device_id parts[2] = { NULL, NULL }, device = (cl_device_id)&fake_device;
	const cl_ulong properties[] = { 0 };

	CHECK(table->clCreateSubDevicesEXT(device, properties, 2, parts, NULL) == CL_SUCCESS);
	CHECK(parts[0] == (cl_device_id)&fake_parts[0] && parts[1] == (cl_device_id)&fake_parts[1]);
	CHECK(table->clRetainDeviceEXT(parts[0]) == CL_SUCCESS);
	CHECK(table->clReleaseDeviceEXT(parts[0]) == CL_SUCCESS);
}

int main(int argc, char **argv)
{
	const char *path = arg_take(&argc, argv, "--layer");
	size_t offered = arg_number(&argc, argv, "--entries", TABLE_ENTRIES), expected;
	bool properties = arg_flag(&argc, argv, "--properties");
	const cl_properties none[] = { 0 };
	const cl_icd_dispatch *table = NULL;
	struct layer layer;
	cl_uint entries = 0;
	cl_int err;

	arg_none_left(argc, argv);
	CHECK(offered <= TABLE_MAX);
	layer_load(&layer, path);
	check_info(&layer);

	CHECK(layer.init(offered, NULL, &entries, &table) == CL_INVALID_VALUE);
	CHECK(layer.init(offered, &below.table, NULL, &table) == CL_INVALID_VALUE);
	CHECK(layer.init(offered, &below.table, &entries, NULL) == CL_INVALID_VALUE);

	fake_table_init();
	below.table.clRetainKernel = NULL;
	err = properties ?
		      layer.init_with_properties(offered, &below.table, &entries, &table, none) :
		      layer.init(offered, &below.table, &entries, &table);
	CHECK(err == CL_SUCCESS && table);
	expected = offered < TABLE_ENTRIES ? offered : TABLE_ENTRIES;
	printf("offered %zu got %u of %zu\n", offered, (unsigned)entries, (size_t)TABLE_ENTRIES);
	CHECK(entries == expected);
	check_table(table, entries);
	check_calls(table);
	check_extension(table);
	CHECK(layer.deinit() == CL_SUCCESS);
	return STATUS_OK;
}
