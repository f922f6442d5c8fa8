export { deployWorkerImage } from './deploy-worker-image.ts';
export { findWorkerImage } from './find-worker-image.ts';
export { overwriteUnlessFound } from './overwrite-unless-found.ts';
export { overlayWorkerConfig } from './overlay-worker-config.ts';
