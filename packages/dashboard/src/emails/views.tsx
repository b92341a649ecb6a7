/** Views over the list: a few that everybody has, then the reader's own. */
import { Link } from '@tanstack/react-router'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { Button, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './emails.module.css'
import type { EmailsSearch } from './emails-search.ts'
import { isSameSearch, viewNameLengthMax } from './saved-views.ts'
import { useViews } from './use-views.ts'
import { words } from './words.ts'

const common = [
  ['all', {}],
  ['waiting', { status: 'deferred' }],
  ['held', { status: 'held' }],
  ['failed', { status: 'failed' }],
  ['bounced', { status: 'bounced' }],
  ['scheduled', { status: 'scheduled' }],
  ['test', { test: 'only' }],
] as const satisfies readonly (readonly [string, EmailsSearch])[]

export function Views({
  tenantId,
  search,
}: {
  readonly tenantId: string
  readonly search: EmailsSearch
}) {
  const text = useWords(words)
  const { views, save, remove } = useViews(tenantId)
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  const all = [
    ...common.map(([one, of]) => ({ name: text.viewNames[one], search: of, isOwn: false })),
    ...views.map((view) => ({ ...view, isOwn: true })),
  ]
  const isKnown = all.some((view) => isSameSearch(view.search, search))
  const close = () => {
    setOpen(false)
    setName('')
  }
  return (
    <nav className={classes.views} aria-label={text.views}>
      {all.map((view) => {
        const isCurrent = isSameSearch(view.search, search)
        return (
          <span key={`${view.isOwn} ${view.name}`} className={classes.viewOuter}>
            <Link
              to="/t/$tenantId/emails"
              params={{ tenantId }}
              search={view.search}
              className={classes.view}
              data-current={isCurrent || undefined}
              activeProps={{}}
              aria-current={isCurrent ? 'page' : undefined}
            >
              {view.name}
            </Link>
            {view.isOwn && (
              <button
                type="button"
                className={classes.remove}
                aria-label={text.removeView(view.name)}
                onClick={() => remove(view.name)}
              >
                <X size={13} aria-hidden />
              </button>
            )}
          </span>
        )
      })}
      {!isKnown && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => setOpen(true)}
        >
          {text.saveView}
        </Button>
      )}
      <Dialog title={text.saveViewTitle} isOpen={isOpen} close={close}>
        <form
          className={classes.form}
          onSubmit={(event) => {
            event.preventDefault()
            save({ name: name.trim(), search })
            close()
          }}
        >
          <TextInput
            label={text.viewName}
            description={text.saveViewHelp}
            value={name}
            maxLength={viewNameLengthMax}
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <DialogEnd confirm={text.save} isDisabled={name.trim() === ''} close={close} />
        </form>
      </Dialog>
    </nav>
  )
}
