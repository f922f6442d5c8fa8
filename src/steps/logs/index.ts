export { announce } from './announce.ts';
export { upload } from './upload.ts';
