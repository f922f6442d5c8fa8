export { copy } from './copy.ts';
export { findMedia } from './find-media.ts';
