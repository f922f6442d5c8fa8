export { chooseImage as choose } from './choose.ts';
export { deployToExistingRoot } from './deploy-to-existing-root.ts';
export { overwriteOs } from './overwrite-os.ts';
export { writeImage as write } from './write.ts';
