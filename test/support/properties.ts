import fc from 'fast-check';

// A landing is refused for its own faults: CI gives a seed, and each other run looks for new cases.
const seed = process.env['TEST_SEED'];
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

export default fc;
