import { useRef, useState } from 'react';
import type { Editor } from './editor.ts';

interface UsedEditor {
  editor: Editor;
  change: (next: (editor: Editor) => Editor) => void;
  /** The editor after the last change, which may not have been drawn yet. */
  latest: () => Editor;
}

/** An editor that begins as another one was left. */
export function useEditor(initial: Editor): UsedEditor {
  const [editor, setEditor] = useState(initial);
  const last = useRef(editor);
  const change = (next: (editor: Editor) => Editor) => {
    last.current = next(last.current);
    setEditor(last.current);
  };
  return { editor, change, latest: () => last.current };
}
