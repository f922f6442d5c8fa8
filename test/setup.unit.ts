// A unit test that forgot a fake fails here instead of touching the machine.
import childProcess from 'node:child_process';
import net from 'node:net';
import { syncBuiltinESMExports } from 'node:module';

const refuse = (what: string) => (): never => {
  throw new Error(`${what} in a unit test: give it a fake, or move it to another suite`);
};

Object.assign(childProcess, {
  spawn: refuse('a process'),
  spawnSync: refuse('a process'),
  exec: refuse('a process'),
  execSync: refuse('a process'),
  execFile: refuse('a process'),
  execFileSync: refuse('a process'),
  fork: refuse('a process'),
});
net.Socket.prototype.connect = refuse('a connection');
syncBuiltinESMExports();
