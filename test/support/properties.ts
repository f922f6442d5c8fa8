import fc from 'fast-check';

// CI sets a seed, so that a change fails only for its own faults; other runs look for new cases.
const seed = process.env['TEST_SEED'];
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

export default fc;
