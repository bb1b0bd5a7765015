// Types of NCCL's functions that are not called.
#pragma once
