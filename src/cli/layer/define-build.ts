import type { Command } from 'commander';
import type { Environment } from '../../config/environment.ts';
import { layerActions } from '../commands.ts';
import type { ReadyCommand } from '../parse-command.ts';
import type { ImageCall } from './image-work.ts';

type ImageOptions = Omit<ImageCall, 'environment'>;

/** Declares `layer build` and `layer push`. */
export function defineLayerBuild(
  layer: Command,
  {
    environment,
    take,
  }: { readonly environment: Environment; readonly take: (run: ReadyCommand) => void },
): void {
  const declare = (action: 'build' | 'push'): Command =>
    layer
      .command(action)
      .description(layerActions[action])
      .requiredOption('--os-config <file>', 'file with the MachineOSConfig')
      .requiredOption(
        '--rendered-config <file>',
        'file with the rendered MachineConfig of the pool',
      )
      .option('--authfile <file>', 'credentials of registries, in the form of a pull secret')
      .option('--storage <dir>', 'folder for images; the store of the user unless given');
  declare('build').action((options: ImageOptions) => {
    take(async () => {
      const { runLayerBuild } = await import('./build.ts');
      return runLayerBuild({ ...options, environment });
    });
  });
  declare('push').action((options: ImageOptions) => {
    take(async () => {
      const { runLayerPush } = await import('./push.ts');
      return runLayerPush({ ...options, environment });
    });
  });
}
