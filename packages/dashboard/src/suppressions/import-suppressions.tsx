/** Imports a file of another service, and names the lines that were refused. */
import type { ImportSuppressionsAnswer } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { FileInput, Select } from '../ui/controls.ts'
import { DataTable } from '../ui/data-table.tsx'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { words } from './words.ts'

const formats = ['postrider', 'sendgrid', 'mailgun', 'postmark', 'ses'] as const
/** A file of 40 MiB over a slow line, and a million lines. */
const timeout = 10 * 60_000

export function ImportSuppressions(o: { readonly isOpen: boolean; readonly close: () => void }) {
  const text = useWords(words)
  return (
    <Dialog title={text.importTitle} isOpen={o.isOpen} close={o.close} size="lg">
      <Form close={o.close} />
    </Dialog>
  )
}

function Form({ close }: { readonly close: () => void }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [format, setFormat] = useState<(typeof formats)[number]>('postrider')
  const [file, setFile] = useState<File | null>(null)
  const load = useMutation({
    mutationFn: (chosen: File) => client.importSuppressions(chosen, { format }, { timeout }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [tenantId, 'suppressions'] }),
  })
  return (
    <DialogForm submit={() => file !== null && load.mutate(file)}>
      <p>{text.importHelp}</p>
      <Select
        label={text.format}
        data={formats.map((value) => ({ value, label: text.formats[value] }))}
        value={format}
        onChange={(value) => setFormat(formats.find((one) => one === value) ?? 'postrider')}
      />
      <FileInput
        label={text.file}
        placeholder="suppressions.csv"
        accept=".csv,text/csv"
        required
        withAsterisk={false}
        value={file}
        onChange={setFile}
      />
      {load.data !== undefined && <Report answer={load.data} />}
      <DialogEnd
        confirm={text.import}
        isBusy={load.isPending}
        isDisabled={file === null}
        error={load.error}
        close={close}
      />
    </DialogForm>
  )
}

function Report({ answer }: { readonly answer: ImportSuppressionsAnswer }) {
  const text = useWords(words)
  const format = useFormat()
  const { added, known, refused, refused_count } = answer
  return (
    <div aria-live="polite">
      <p>
        <strong>
          {text.imported(
            format.integer(added),
            format.integer(known),
            format.integer(refused_count),
          )}
        </strong>
      </p>
      {refused.length > 0 && (
        <DataTable
          label={text.problem}
          rows={refused.slice(0, 100)}
          rowKey={({ line }) => String(line)}
          columns={[
            {
              key: 'line',
              head: text.line,
              width: '80px',
              isTitle: true,
              cell: ({ line }) => format.integer(line),
            },
            {
              key: 'problem',
              head: text.problem,
              cell: ({ message }) => <span title={message}>{message}</span>,
            },
          ]}
        />
      )}
    </div>
  )
}
