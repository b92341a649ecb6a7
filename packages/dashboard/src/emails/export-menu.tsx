/** All that matches as a file. */
import type { GetEmailLogsInput } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTenant } from '../session/use-tenant.ts'
import { Button, Menu } from '../ui/controls.ts'
import { saveStream } from '../ui/save-stream.ts'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import classes from './emails.module.css'
import { words } from './words.ts'

export function ExportMenu({ filter }: { readonly filter: GetEmailLogsInput }) {
  const text = useWords(words)
  const formatting = useFormat()
  const { client } = useTenant()
  const [bytes, setBytes] = useState(0)
  const abort = useRef<AbortController>(undefined)
  const save = useMutation({
    mutationFn: (format: 'csv' | 'ndjson') => {
      abort.current = new AbortController()
      const { signal } = abort.current
      setBytes(0)
      return saveStream({
        name: `emails.${format}`,
        open: () => client.exportEmailLogs({ ...filter, format }, { signal }),
        onBytes: setBytes,
        signal,
      })
    },
    onSuccess: (isSaved) => isSaved && tellDone(text.exported),
    onError: (error) => abort.current?.signal.aborted !== true && tellFailed('save')(error),
  })
  if (save.isPending) {
    return (
      <Button variant="default" onClick={() => abort.current?.abort()}>
        {text.stopExport(formatting.bytes(bytes))}
      </Button>
    )
  }
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<Download size={14} aria-hidden />}>
          {text.export}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => save.mutate('csv')}>
          {text.exportCsv}
          <span className={classes.menuNote}>{text.exportHelp}</span>
        </Menu.Item>
        <Menu.Item onClick={() => save.mutate('ndjson')}>{text.exportNdjson}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
