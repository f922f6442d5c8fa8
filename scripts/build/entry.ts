// The order matters: an older Node must be told so before anything else is evaluated.
import './check-node.ts';
import './load-part.ts';
import '../../src/main.ts';
