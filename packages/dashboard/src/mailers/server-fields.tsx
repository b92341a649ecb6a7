/** Host, port and encryption of a server, beside each other where there is room. */
import type { SecureMode } from '@postrider/client'
import { Select, TextInput } from '../ui/controls.ts'
import type { FieldErrors } from '../ui/field-errors.ts'
import classes from '../ui/form.module.css'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

const modes: readonly SecureMode[] = ['Auto', 'Tls', 'SSL', 'None']

/** As it is typed. */
export interface ServerDraft {
  readonly host: string
  readonly port: string
  readonly secure: SecureMode
}

export function readServer({ host, port, secure }: ServerDraft) {
  return { host: host.trim(), port: Number(port), secure }
}

/** Below the path of the server, for `fieldErrors`. */
export function serverPaths(path: string): readonly string[] {
  return [`${path}/host`, `${path}/port`, `${path}/secure`]
}

export function ServerFields(o: {
  readonly value: ServerDraft
  readonly onChange: (value: ServerDraft) => void
  readonly errors: FieldErrors
  /** Of the server in the request, such as `/config`. */
  readonly path: string
  /** A server that may be left out is required once it has a host. */
  readonly isOptional?: boolean
}) {
  const text = useWords(words)
  const { value, onChange, errors, path } = o
  const isRequired = o.isOptional !== true || value.host.trim() !== ''
  return (
    <div className={classes.server}>
      <TextInput
        label={text.host}
        required={o.isOptional !== true}
        withAsterisk={false}
        value={value.host}
        error={errors.of(`${path}/host`)}
        onChange={(event) => onChange({ ...value, host: event.currentTarget.value })}
      />
      <TextInput
        label={text.port}
        required={isRequired}
        withAsterisk={false}
        inputMode="numeric"
        pattern="[0-9]{1,5}"
        value={value.port}
        error={errors.of(`${path}/port`)}
        onChange={(event) => onChange({ ...value, port: event.currentTarget.value })}
      />
      <Select
        label={text.encryption}
        data={modes.map((mode) => ({ value: mode, label: text.secureModes[mode] }))}
        value={value.secure}
        error={errors.of(`${path}/secure`)}
        onChange={(mode) => onChange({ ...value, secure: (mode ?? 'Auto') as SecureMode })}
      />
    </div>
  )
}
