package regular

import (
	"os"

	"golang.org/x/sys/windows"
)

// Shared opens a file as os.OpenFile does, except that the file can be renamed, replaced and removed while it is open.
// Files of os.OpenFile cannot: whoever tries gets a sharing violation, including this process itself.
func Shared(name string, flag int, perm os.FileMode) (*os.File, error) {
	fail := func(err error) (*os.File, error) { return nil, &os.PathError{Op: "open", Path: name, Err: err} }
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return fail(err)
	}
	access := uint32(windows.GENERIC_READ)
	switch {
	case flag&os.O_RDWR != 0:
		access |= windows.GENERIC_WRITE
	case flag&os.O_WRONLY != 0:
		access = windows.GENERIC_WRITE
	}
	if flag&os.O_APPEND != 0 {
		access = access&^windows.GENERIC_WRITE | windows.FILE_APPEND_DATA | windows.FILE_WRITE_ATTRIBUTES |
			windows.SYNCHRONIZE
	}
	attributes := uint32(windows.FILE_ATTRIBUTE_NORMAL)
	if perm&0o200 == 0 && flag&os.O_CREATE != 0 {
		attributes = windows.FILE_ATTRIBUTE_READONLY
	}
	const others = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(path, access, others, nil, disposition(flag), attributes, 0)
	if err != nil {
		return fail(err)
	}
	return os.NewFile(uintptr(h), name), nil
}

// disposition returns what is to happen with an existing or a missing file.
func disposition(flag int) uint32 {
	switch {
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return windows.CREATE_NEW
	case flag&(os.O_CREATE|os.O_TRUNC) == os.O_CREATE|os.O_TRUNC:
		return windows.CREATE_ALWAYS
	case flag&os.O_CREATE != 0:
		return windows.OPEN_ALWAYS
	case flag&os.O_TRUNC != 0:
		return windows.TRUNCATE_EXISTING
	}
	return windows.OPEN_EXISTING
}
