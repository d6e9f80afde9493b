/* A malloc for LD_PRELOAD that records each call, and leaves the work to the next malloc.
 *
 * A free is recorded before it happens, and an allocation after it happened. So a block that passes
 * from one thread to another is recorded in that order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap.h"

/* What malloc aligns to. */
enum { ALIGN = alignof(max_align_t) };

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static void *(*next_aligned_alloc)(size_t, size_t);

/* Memory for what dlsym allocates before the next malloc is known. It is never given back. */
static alignas(max_align_t) unsigned char first[4096];
static size_t first_used;

static void *from_first(size_t size) {
    size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (rounded < size || rounded > sizeof first - first_used) {
        return NULL;
    }
    void *block = first + first_used;
    first_used += rounded;
    return block;
}

static int is_from_first(const void *block) {
    uintptr_t at = (uintptr_t)block, begin = (uintptr_t)first;
    return at >= begin && at < begin + sizeof first;
}

/* Finds the next malloc. The first call is from the loader, while there is one thread. Returns 0
 * for a call from dlsym itself. */
static int is_ready(void) {
    static int is_looking;
    if (next_aligned_alloc) {
        return 1;
    }
    if (is_looking) {
        return 0;
    }
    is_looking = 1;
    /* ISO C has no conversion from an object pointer, which dlsym returns, to a function pointer. */
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    *(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    return next_aligned_alloc != NULL;
}

void *malloc(size_t size) {
    if (!is_ready()) {
        return from_first(size);
    }
    void *block = next_malloc(size);
    heap_allocated(block, size, ALIGN);
    return block;
}

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!is_ready()) {
        return from_first(bytes); /* Static memory is zero. */
    }
    void *block = next_calloc(count, size);
    heap_allocated(block, bytes, ALIGN);
    return block;
}

void *realloc(void *old, size_t size) {
    if (!is_ready()) {
        return old ? NULL : from_first(size);
    }
    if (is_from_first(old)) {
        void *block = malloc(size);
        size_t most = (size_t)(first + sizeof first - (unsigned char *)old);
        return block ? memcpy(block, old, size < most ? size : most) : NULL;
    }
    uintptr_t was = (uintptr_t)old;
    void *block = next_realloc(old, size);
    if (!was) {
        heap_allocated(block, size, ALIGN);
    } else if (size == 0) {
        heap_freed((void *)was);
    } else {
        heap_resized((void *)was, block, size);
    }
    return block;
}

void free(void *block) {
    if (block == NULL || is_from_first(block) || !is_ready()) {
        return;
    }
    heap_freed(block);
    next_free(block);
}

void *aligned_alloc(size_t align, size_t size) {
    if (!is_ready()) {
        return NULL;
    }
    void *block = next_aligned_alloc(align, size);
    heap_allocated(block, size, (uint32_t)align);
    return block;
}

void *memalign(size_t align, size_t size) {
    return aligned_alloc(align, size);
}

int posix_memalign(void **into, size_t align, size_t size) {
    if (align % sizeof(void *) != 0 || (align & (align - 1)) != 0) {
        return EINVAL;
    }
    int before = errno;
    void *block = aligned_alloc(align, size);
    errno = before;
    if (!block) {
        return ENOMEM;
    }
    *into = block;
    return 0;
}
