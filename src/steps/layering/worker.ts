export { deployWorkerImage } from './deploy-worker-image.ts';
export { findWorkerImage } from './find-worker-image.ts';
export { overlayWorkerConfig } from './overlay-worker-config.ts';
