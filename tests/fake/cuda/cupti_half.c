/* SPDX-License-Identifier: MIT */
/* cupti_half.c - a library by CUPTI's name that has one of its functions, which must not be called.
 */
#include <stdlib.h>

#include "fake.h"

FAKE_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
						CUpti_CallbackFunc function, void *data)
{
	(void)subscriber, (void)function, (void)data;
	abort();
}
