import type { Command } from 'commander';
import { commands, type Definition, formatOption, layerActions, listFormats } from '../commands.ts';
import { type BuildCommand, type ImageCall, runLayerBuild, runLayerPush } from './build.ts';
import { type RollbackCall, runLayerRollback } from './in-cluster.ts';
import { runLayerLint } from './lint.ts';
import { type NameCall, runLayerName } from './name.ts';
import { type RenderCall, runLayerRender } from './render.ts';
import { runLayerStatus, type StatusCall } from './status.ts';

/** Declares `layer` and what it can do. */
export function defineLayer(root: Command, definition: Definition): void {
  const layer = root.command('layer').description(commands.layer);
  defineLint(layer, definition);
  defineRender(layer, definition);
  defineName(layer, definition);
  defineBuildAndPush(layer, definition);
  defineStatus(layer, definition);
  defineRollback(layer, definition);
}

const declare = (layer: Command, action: keyof typeof layerActions): Command =>
  layer.command(action).description(layerActions[action]);

const withOSConfig = (command: Command): Command =>
  command.requiredOption('--os-config <file>', 'file with the MachineOSConfig');

const withBuildFiles = (command: Command): Command =>
  withOSConfig(command).requiredOption(
    '--rendered-config <file>',
    'file with the rendered MachineConfig of the pool',
  );

const withKubeconfig = (command: Command): Command =>
  command.requiredOption('--kubeconfig <file>', 'kubeconfig of a cluster administrator');

function defineLint(layer: Command, { take }: Definition): void {
  declare(layer, 'lint')
    .argument('<file...>', 'files with MachineOSConfigs, or Containerfiles')
    .action((files: readonly string[]) => {
      take(() => runLayerLint(files));
    });
}

function defineRender(layer: Command, { take }: Definition): void {
  withBuildFiles(declare(layer, 'render'))
    .requiredOption('--out <dir>', 'directory for the build context, empty or absent')
    .action((options: RenderCall) => {
      take(() => runLayerRender(options));
    });
}

function defineName(layer: Command, { take }: Definition): void {
  withOSConfig(declare(layer, 'name'))
    .requiredOption('--pool <file>', 'file with the MachineConfigPool of the running cluster')
    .requiredOption(
      '--images <file>',
      'file with the four fields of the ConfigMap machine-config-osimageurl',
    )
    .action((options: NameCall) => {
      take(() => runLayerName(options));
    });
}

function defineBuildAndPush(layer: Command, { environment, take }: Definition): void {
  const declareImage = (action: 'build' | 'push'): Command =>
    withBuildFiles(declare(layer, action))
      .option('--authfile <file>', 'registry credentials, in the form of a pull secret')
      .option('--storage <dir>', 'directory for images; default: the storage of the user');
  declareImage('build')
    .option('--push-authfile <file>', 'credentials to push the image with, once it is built')
    .option('--digestfile <file>', 'write the digest of the pushed image to this file')
    .option('--on-host', 'in a privileged container: build on its host', false)
    .action((options: Omit<BuildCommand, 'environment'>) => {
      take(() => runLayerBuild({ ...options, environment }));
    });
  declareImage('push').action((options: Omit<ImageCall, 'environment'>) => {
    take(() => runLayerPush({ ...options, environment }));
  });
}

function defineStatus(layer: Command, { take }: Definition): void {
  withKubeconfig(declare(layer, 'status'))
    .option('--pool <name>', 'this pool only')
    .addOption(formatOption(layer, listFormats))
    .action((options: StatusCall) => {
      take(() => runLayerStatus(options));
    });
}

function defineRollback(layer: Command, { take }: Definition): void {
  withKubeconfig(declare(layer, 'rollback'))
    .requiredOption('--pool <name>', 'pool to return to the OS of its release')
    .option('--yes', 'make the change; without it, only print what would happen', false)
    .action((options: RollbackCall) => {
      take(() => runLayerRollback(options));
    });
}
