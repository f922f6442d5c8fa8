#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=65536 node --max-semi-space-size=1
// The first line: one arena whose large pieces go back to the system, and small semi-spaces. An
// agent that mostly waits stays below 100 MiB, and allocates too little for any of it to cost time.

// Static imports run first: an older Node must be refused before anything else.
import './check-node.ts';
import './prefer-memory.ts';

await import('../../src/main.ts');
