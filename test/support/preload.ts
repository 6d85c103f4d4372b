// Each server of a run loads this first; global-setup.ts bundles it into one file.
import './record-answers.ts';
import './plain-sqlite.ts';
