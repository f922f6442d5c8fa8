export { addDefaultOsConfigs } from './add-default-os-configs.ts';
export { buildImages } from './build-images.ts';
export { checkServedConfig } from './check-served-config.ts';
export { checkSingleNode } from './check-single-node.ts';
export { copyBase } from './copy-base.ts';
export { deployOwn } from './deploy-own.ts';
export { gatherLogs, gatherLogsAtTheEnd } from './gather-logs.ts';
export { handOverServed, handOverToRollOut } from './hand-over-when.ts';
export { holdConfigServer } from './hold-config-server.ts';
export { leaveHandOver } from './leave-hand-over.ts';
export {
  overwriteAfterAll,
  overwriteUnlessBuilt,
  overwriteWithoutOrders,
} from './overwrite-unless-built.ts';
export { nameRepositories } from './name-repositories.ts';
export { publishImages } from './publish-images.ts';
export { readOsConfigs } from './read-os-configs.ts';
export { releaseConfigServer } from './release-config-server.ts';
export { sendBase } from './send-base.ts';
export { serveImages } from './serve-images.ts';
export { startRegistry } from './start-registry.ts';
export { stashOsConfigs } from './stash-os-configs.ts';
export { stopRegistry } from './stop-registry.ts';
export { waitForLayeredMasters } from './wait-for-layered-masters.ts';
export { waitForRendered } from './wait-for-rendered.ts';
