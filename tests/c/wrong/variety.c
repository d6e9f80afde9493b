/* gcc: TELEMETRY_VARIETY is not one of: cool, hot, rash */
/* clang: TELEMETRY_VARIETY is not one of: cool, hot, rash */
#define TELEMETRY_VARIETY warm
#include "hard.h"
