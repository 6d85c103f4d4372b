// What each server of a run loads before all else; global-setup.ts makes one file of it.
import './record-answers.ts';
import './plain-sqlite.ts';
