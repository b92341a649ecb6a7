/** Dialogs: a form, and a question before something dangerous. */
import { Button, Modal, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useWords } from '../words/define-words.ts'
import { type FailedWhat, Failure } from './answers.tsx'
import classes from './dialog.module.css'
import { words } from './words.ts'

export function Dialog(o: {
  readonly title: string
  readonly isOpen: boolean
  readonly close: () => void
  readonly size?: 'md' | 'lg' | 'xl'
  readonly children: ReactNode
}) {
  const text = useWords(words)
  return (
    <Modal
      opened={o.isOpen}
      onClose={o.close}
      title={o.title}
      size={o.size ?? 'md'}
      closeButtonProps={{ 'aria-label': text.close }}
      classNames={{
        title: classes.title ?? '',
        header: classes.header ?? '',
        content: classes.content ?? '',
      }}
      // The library's element would be a second banner of the page.
      attributes={{ header: { role: 'presentation' } }}
    >
      {o.children}
    </Modal>
  )
}

/** A form in a dialog: its parts below each other. */
export function DialogForm({
  submit,
  children,
}: {
  readonly submit: () => void
  readonly children: ReactNode
}) {
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {children}
    </form>
  )
}

/** The buttons below a form, with its error above them. */
export function DialogEnd(o: {
  readonly confirm: string
  readonly isDangerous?: boolean
  readonly isBusy?: boolean
  readonly isDisabled?: boolean
  readonly error?: unknown
  /** What the error has kept from being done. */
  readonly failed?: FailedWhat
  readonly close: () => void
  /** Without it the button submits the form around it. */
  readonly onConfirm?: () => void
}) {
  const text = useWords(words)
  return (
    <>
      {o.error ? <Failure what={o.failed ?? 'save'} error={o.error} /> : null}
      <div className={classes.end}>
        <Button variant="default" onClick={o.close}>
          {text.cancel}
        </Button>
        <Button
          type={o.onConfirm === undefined ? 'submit' : 'button'}
          {...(o.onConfirm !== undefined && { onClick: o.onConfirm })}
          loading={o.isBusy ?? false}
          disabled={o.isDisabled ?? false}
          {...(o.isDangerous === true && { className: classes.danger })}
        >
          {o.confirm}
        </Button>
      </div>
    </>
  )
}

/** Says how much is affected. With `nameToType` the name is typed first: it cannot be undone. */
export function Confirm(o: {
  readonly title: string
  readonly isOpen: boolean
  readonly close: () => void
  readonly confirm: string
  readonly nameToType?: string
  readonly isDangerous?: boolean
  readonly isBusy?: boolean
  readonly error?: unknown
  readonly onConfirm: () => void
  readonly children?: ReactNode
}) {
  const text = useWords(words)
  const [typed, setTyped] = useState('')
  const close = () => {
    setTyped('')
    o.close()
  }
  return (
    <Dialog title={o.title} isOpen={o.isOpen} close={close}>
      <DialogForm submit={o.onConfirm}>
        {o.children}
        {o.nameToType !== undefined && (
          <TextInput
            label={text.typeToConfirm(o.nameToType)}
            value={typed}
            autoComplete="off"
            data-autofocus
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
        <DialogEnd
          confirm={o.confirm}
          isDangerous={o.isDangerous ?? false}
          isBusy={o.isBusy ?? false}
          isDisabled={o.nameToType !== undefined && typed !== o.nameToType}
          error={o.error}
          failed={o.nameToType === undefined ? 'change' : 'delete'}
          close={close}
        />
      </DialogForm>
    </Dialog>
  )
}
