// Notifies the service manager of a container, from the host that `nsenter` leads to.
import { hostPrefix } from '../../../src/adapters/host/nsenter-host.ts';
import { serviceManager } from '../../../src/adapters/host/service-manager.ts';

const manager = serviceManager({ environment: process.env, prefix: hostPrefix(process.env) });
manager?.notify({ READY: '1', STATUS: 'at work' });
await manager?.close();
