/** DNS records to publish: each to be copied, with what name servers say of it now. */
import type { DomainRecord } from '@postrider/client'
import { CodeBlock, CopyButton } from '../ui/copy.tsx'
import { Card } from '../ui/page.tsx'
import { StateMark, type Tone } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './records.module.css'
import { words } from './words.ts'
import { zoneFile } from './zone-file.ts'

export type ShownRecord = Pick<
  DomainRecord,
  'type' | 'name' | 'value' | 'priority' | 'purpose' | 'required' | 'status' | 'dns' | 'found'
> &
  Partial<Pick<DomainRecord, 'rotation' | 'removable_at'>>

const tones: Readonly<Record<DomainRecord['status'], Tone>> = {
  pending: 'muted',
  valid: 'good',
  invalid: 'bad',
}

export function Records({ records }: { readonly records: readonly ShownRecord[] }) {
  const text = useWords(words)
  return (
    <Card title={text.records} note={text.recordsNote}>
      <ul className={classes.records}>
        {records.map((record) => (
          <li key={`${record.type} ${record.name} ${record.value}`}>
            <div className={classes.head}>
              <StateMark tone={tones[record.status]}>{text.statuses[record.status]}</StateMark>
              <strong>{text.purposes[record.purpose]}</strong>
              {!record.required && record.rotation === undefined && <span>{text.advice}</span>}
              {record.rotation !== undefined && <span>{text[record.rotation]}</span>}
              {record.removable_at !== undefined && (
                <span>
                  {text.removable} <Time at={record.removable_at} />
                </span>
              )}
            </div>
            <Line
              name={text.type}
              value={record.type === 'MX' ? `MX ${record.priority ?? ''}` : record.type}
            />
            <Line name={text.name} value={record.name} canCopy />
            <Line name={text.value} value={record.value} canCopy />
            <Found record={record} />
          </li>
        ))}
      </ul>
      <details className={classes.zone}>
        <summary>{text.copyZone}</summary>
        <CodeBlock code={zoneFile(records)} label={text.copyZone} />
      </details>
    </Card>
  )
}

function Line(o: { readonly name: string; readonly value: string; readonly canCopy?: boolean }) {
  return (
    <div className={classes.line}>
      <span>{o.name}</span>
      <code>{o.value}</code>
      {o.canCopy === true && <CopyButton value={o.value} label={o.name} />}
    </div>
  )
}

/** In words, where it is not as it should be. */
function Found({ record: { status, dns, found } }: { readonly record: ShownRecord }) {
  const text = useWords(words)
  if (status === 'valid' || dns === null) return null
  const said =
    dns === 'absent'
      ? text.foundNothing
      : dns === 'unknown'
        ? text.notAsked
        : text.foundOther(found.join(', '))
  return <p className={classes.found}>{said}</p>
}
