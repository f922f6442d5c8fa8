import type { Command } from 'commander';
import { commands, layerActions } from '../commands.ts';
import type { ReadyCommand } from '../parse-command.ts';
import type { CommandCall } from '../program.ts';
import { defineLayerBuild } from './define-build.ts';
import { defineInCluster } from './define-in-cluster.ts';

/** Says what to run once the line is understood. */
interface Definition {
  readonly call: CommandCall;
  readonly take: (run: ReadyCommand) => void;
}

/** Options of `layer render` as they are read. */
interface RenderOptions {
  readonly osConfig: string;
  readonly renderedConfig: string;
  readonly out: string;
}

/** Options of `layer name` as they are read. */
interface NameOptions {
  readonly osConfig: string;
  readonly pool: string;
  readonly images: string;
}

const osConfigHelp = 'file with the MachineOSConfig';

/** Declares `layer` and what it can do. */
export function defineLayer(root: Command, { call, take }: Definition): void {
  const layer = root.command('layer').description(commands.layer);
  layer
    .command('lint')
    .description(layerActions.lint)
    .argument('<file...>', 'MachineOSConfigs or Containerfiles')
    .action((files: readonly string[]) => {
      take(async () => {
        const { runLayerLint } = await import('./lint.ts');
        return runLayerLint(files);
      });
    });
  layer
    .command('render')
    .description(layerActions.render)
    .requiredOption('--os-config <file>', osConfigHelp)
    .requiredOption('--rendered-config <file>', 'file with the rendered MachineConfig of the pool')
    .requiredOption('--out <dir>', 'folder for the build context, empty or not there yet')
    .action((options: RenderOptions) => {
      take(async () => {
        const { runLayerRender } = await import('./render.ts');
        return runLayerRender(options);
      });
    });
  layer
    .command('name')
    .description(layerActions.name)
    .requiredOption('--os-config <file>', osConfigHelp)
    .requiredOption('--pool <file>', 'file with the MachineConfigPool of the running cluster')
    .requiredOption('--images <file>', 'file with the four fields of machine-config-osimageurl')
    .action((options: NameOptions) => {
      take(async () => {
        const { runLayerName } = await import('./name.ts');
        return runLayerName(options);
      });
    });
  defineLayerBuild(layer, { environment: call.environment, take });
  defineInCluster(layer, take);
}
