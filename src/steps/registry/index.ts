export { copyRegistry as copy } from './copy.ts';
export { findRegistryMedia as findMedia } from './find-media.ts';
