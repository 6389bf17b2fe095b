require_relative "tombolo"

class FileResource < Tombolo::Resource
  def create(call)
    File.binwrite(call.planned["path"], call.planned["text"])
    look(call.planned["path"])
  end
  alias update create

  def read(call) = look(call.state["path"])

  def import(call) = look(call.id)

  def delete(call)
    File.delete(call.state["path"])
  rescue Errno::ENOENT
    nil
  end

  def look(path)
    text = File.read(path)
    {id: path, path: path, text: text, bytes: text.bytesize}
  rescue Errno::ENOENT
    nil
  end
end

slug = ->(text) { text.downcase.gsub(/[^a-z0-9]+/, "-") }

Tombolo.run(resources: {NAME_file: FileResource}, functions: {slug: slug})
