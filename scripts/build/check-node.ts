import { cliFailures } from '../../src/cli/failures.ts';
import { exitCodes } from '../../src/model/failure.ts';

const oldest = 24;
const row = cliFailures['cli.old-node'];

if (Number(process.versions.node.split('.')[0]) < oldest) {
  process.stderr.write(
    `failed: cli.old-node: bootwright needs Node ${oldest} or newer, this is ${process.version}\n`,
  );
  process.exit(exitCodes[row.kind]);
}
