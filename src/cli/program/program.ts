import { requireHost } from '../../adapters/host-root.ts';
import type { Environment } from '../../config/environment.ts';
import { loadConfig, requireInstallable } from '../../config/load.ts';
import { mergeLayers, textIn } from '../../config/settings.ts';
import type { CommandSettings } from '../../config/sources.ts';
import { HOST_ROOT } from '../../model/host-root.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { InstallStart } from './install.ts';
import { exitCodeOf, failureText, printError } from '../messages.ts';

/** What runs behind the start of the program; loaded as a whole when it is needed. */
export interface Program {
  /** @throws AgentError what is wrong before the install begins; the service does not hear of it */
  readonly runInstall: (call: InstallCall) => Promise<number>;
  readonly runController: (environment: Environment, kubeconfig?: string) => Promise<number>;
}

/** An install as the start of the program hands it over. */
export interface InstallCall extends InstallStart {
  readonly settings: CommandSettings;
}

/**
 * Runs an install.
 * @throws AgentError what is wrong before the install begins
 */
export async function runInstall({ settings, ...start }: InstallCall): Promise<number> {
  const loaded = await loadConfig(settings).catch(async (thrown: unknown) => {
    // A file of the host cannot be read by a container that does not see the host.
    if (asAgentError(thrown).code === 'config.file-not-read')
      await requireHost(textIn(mergeLayers(settings.layers), 'host.root', HOST_ROOT));
    throw thrown;
  });
  await requireHost(loaded.config.host.root);
  const { joinHostNetwork } = await import('../../adapters/host/nsenter-host.ts');
  await joinHostNetwork(loaded.config.host.root, settings.environment);
  await requireInstallable(loaded);
  const { install } = await import('./install.ts');
  return install(loaded, start);
}

/**
 * Runs the controller as its job does: the parser of all commands would take five of its megabytes.
 */
export async function runController(
  environment: Environment,
  kubeconfig?: string,
): Promise<number> {
  try {
    const { runController: run } = await import('../controller.ts');
    return await run({
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      verbose: false,
      environment,
    });
  } catch (thrown) {
    printError(failureText(thrown));
    return exitCodeOf(thrown);
  }
}
