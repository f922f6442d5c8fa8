import { condition } from '../../engine/condition.ts';
import { minutes } from '../../model/duration.ts';
import { osFailure } from '../../os/failures.ts';
import { NextBoot } from './facts.ts';
import { type NodeOrder, step } from './step.ts';

/** What the Machine Config Daemon goes by when it starts: a pull spec and nothing else. */
const recordPath = '/etc/machine-config-daemon/currentimage';

/** As the daemon writes it. */
const mode = 0o644;

/** Whoever asked wants the daemon to know of the image. */
const wantsRecord = condition<NodeOrder>('a record is asked for', ({ records }) => records);

/** Writes down that the image is what the node is to run, once it is booted next or runs. */
export const recordImage = step({
  id: 'os/record-image',
  title: 'Record the image for the Machine Config Daemon',
  uses: ['host'],
  needs: { next: NextBoot },
  when: wantsRecord,
  limit: minutes(5),
  touches: ['os'],
  run: async ({ host, signal, note, config: { image } }, { next }) => {
    // What is staged gets its /etc on the way down, from the one that is written to here.
    if (next.isAnother && !next.isStaged) {
      throw osFailure('os.record-lost', `${image} is booted next with an /etc of its own`);
    }
    if ((await host.readText(recordPath, signal)) === image) {
      note('info', 'the image is recorded already');
      return;
    }
    await host.writeFile(recordPath, image, { signal, mode });
    note('info', `${image} is recorded for the Machine Config Daemon`, { path: recordPath });
  },
});
