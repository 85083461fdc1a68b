#pragma once

int nvtxRangePushA(const char* message);
int nvtxRangePop();
