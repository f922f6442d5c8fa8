import { afterAll } from 'vitest';
import { removeHosts } from './roles/host-folders.ts';

afterAll(removeHosts);
