/** Filters of a list as chips: which hold, and how to drop them. */
import { X } from 'lucide-react'
import { useWords } from '../words/define-words.ts'
import { Empty } from './answers.tsx'
import { Button } from './controls.ts'
import classes from './filters.module.css'
import { words } from './words.ts'

export interface ActiveFilter {
  readonly name: string
  readonly value: string
  drop(): void
}

export function FilterChips({ filters }: { readonly filters: readonly ActiveFilter[] }) {
  const text = useWords(words)
  if (filters.length === 0) return null
  return (
    <ul className={classes.chips}>
      {filters.map(({ name, value, drop }) => (
        <li key={name}>
          <span className={classes.name}>{name}</span>
          <span className={classes.value}>{value}</span>
          <button type="button" aria-label={text.removeFilter(name)} onClick={drop}>
            <X size={13} aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Where filters leave nothing: each is named, to be dropped. */
export function NothingMatches({ filters }: { readonly filters: readonly ActiveFilter[] }) {
  const text = useWords(words)
  return (
    <Empty title={text.nothingMatches}>
      <div className={classes.drops}>
        {filters.map(({ name, value, drop }) => (
          <Button key={name} variant="default" size="xs" onClick={drop}>
            {text.dropOne(`${name}: ${value}`)}
          </Button>
        ))}
      </div>
    </Empty>
  )
}
